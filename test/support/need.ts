import type { ProgramName } from './programs.js';

/**
 * What tests need and npm does not install: a program, a MySQL-protocol server, the programs of a Galera cluster, or
 * the right to run programs as another user.
 */
export type Need = ProgramName | 'server' | 'galera' | 'another user';
