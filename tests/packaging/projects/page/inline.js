// For bundlers that know no files but JavaScript.
import { Laser } from 'tidemark/inline';
import { Laser as WatchLaser } from 'tidemark/watch/inline';
import { install } from './read.js';

install({ tidemark: Laser, 'tidemark/watch': WatchLaser });
