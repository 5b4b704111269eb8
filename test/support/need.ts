import type { ProgramName } from './programs.js';

/** What tests need that npm does not bring: a program, a MySQL-protocol server, or the programs of a Galera cluster. */
export type Need = ProgramName | 'server' | 'galera';
