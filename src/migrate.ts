import { runMigration } from './run/migration.js';

process.exitCode = await runMigration(process.argv.slice(2), process.env, process);
