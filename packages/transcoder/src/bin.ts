#!/usr/bin/env node
const ending = new AbortController();
// As the first process of a container, Node would ignore them. A second one ends it at once elsewhere.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    ending.abort();
  });
const { stdout, stderr } = process;
// It goes on serving when nobody reads its output any longer.
for (const output of [stdout, stderr]) output.on('error', () => undefined);
try {
  const { runCommand } = await import('./command.js');
  process.exitCode = await runCommand(process.argv.slice(2), { stdout, stderr, signal: ending.signal });
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'@grpc/grpc-js'")) throw error;
  stderr.write(
    'transcoder: The package @grpc/grpc-js is missing. Install it beside this one: npm install @grpc/grpc-js\n',
  );
  process.exitCode = 1;
}
