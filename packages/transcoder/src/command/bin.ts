#!/usr/bin/env node
const ending = new AbortController();
// As the first process of a container, Node would ignore these signals. Elsewhere, a second signal ends it at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    ending.abort();
  });
const { stdout, stderr } = process;
// It goes on serving when nobody reads its output any longer.
for (const output of [stdout, stderr]) output.on('error', () => undefined);
const { runCommand } = await import('./command.js').catch((error: unknown) => {
  stderr.write(
    `transcoder: ${(error as Error).message}. The command needs it beside this package: npm install @grpc/grpc-js\n`,
  );
  process.exit(1);
});
process.exitCode = await runCommand(process.argv.slice(2), { stdout, stderr, signal: ending.signal });
