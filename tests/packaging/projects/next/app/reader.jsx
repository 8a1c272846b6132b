'use client';
import { useEffect } from 'react';
import { Laser } from 'tidemark';
import { Laser as WatchLaser } from 'tidemark/watch';
import { install } from './read.js';

export function Reader() {
	useEffect(() => install({ tidemark: Laser, 'tidemark/watch': WatchLaser }), []);
	return null;
}
