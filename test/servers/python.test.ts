import { resolve } from 'node:path';
import { it } from 'vitest';
import { needs, programPath } from '../support/needs.js';
import { byRule, expectGreetings, prepareGreeter } from './rig/greeter.js';
import { startReadmeCommand } from './rig/readme-command.js';

it("a server of Python's grpcio is served by its descriptor set", needs('python'), async () => {
  const { address, set, start } = await prepareGreeter();
  await start(programPath('python'), resolve(import.meta.dirname, 'programs/python.py'));
  await expectGreetings(byRule(await startReadmeCommand("Python's grpcio", address, set)));
});
