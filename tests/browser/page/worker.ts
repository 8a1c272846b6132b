import { connect } from './loading.js';

addEventListener('message', ({ data }) => {
	void connect(data as string).then((outcome) => postMessage(outcome));
});
