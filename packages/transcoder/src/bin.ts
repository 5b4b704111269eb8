#!/usr/bin/env node
import { runCommand } from './command.js';

const ending = new AbortController();
// As the first process of a container, Node would ignore them. A second one ends it at once elsewhere.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    ending.abort();
  });
const { stdout, stderr } = process;
process.exitCode = await runCommand(process.argv.slice(2), { stdout, stderr, signal: ending.signal });
