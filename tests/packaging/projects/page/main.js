import { Laser } from 'tidemark';
import { Laser as WatchLaser } from 'tidemark/watch';
import { install } from './read.js';

install({ tidemark: Laser, 'tidemark/watch': WatchLaser });
