import { availableParallelism } from 'node:os';
import type { Database } from './database-url.js';
import type { SettingsReader } from './settings.js';

/** The most worker processes that may be set: more than a machine has cores. */
const MAX_WORKERS = 256;

/** Reads the number of processes; adds its problems to the reader. @param database absent for a gateway */
export function workersOf(settings: SettingsReader, database: Database | undefined): number {
  const text = settings.text('WORKERS');
  const workers = text === 'auto' ? Math.min(availableParallelism(), MAX_WORKERS) : Number(text);
  if (!/^(?:auto|\d+)$/.test(text) || workers < 1 || workers > MAX_WORKERS) {
    settings.refuseValue('WORKERS', text, `must be auto or a whole number from 1 to ${MAX_WORKERS}.`);
    return 1;
  }
  if (workers > 1 && database?.engine === 'sqlite' && database.file === ':memory:')
    settings.refuse(
      'WORKERS',
      `asks for ${workers} processes, but sqlite::memory: would be another database in each; use a file.`,
    );
  return workers;
}
