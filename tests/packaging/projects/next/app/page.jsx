// Rendered on the server, where the package is imported as well.
import { offsetsToJSON } from 'tidemark';
import { Reader } from './reader.jsx';

export default function Page() {
	return (
		<main>
			<p id="server">{JSON.stringify(offsetsToJSON(new Map([[0, 1n]])))}</p>
			<Reader />
		</main>
	);
}
