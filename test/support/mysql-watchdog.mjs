// Runs the commands in its JSON argument one after another, each in its own process group. When a command fails or
// stdin closes, it kills the running command, runs the commands in `afterwards`, and exits. Stdin closes whenever the
// parent ends, even by SIGKILL.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

const { commands, afterwards } = JSON.parse(process.argv[2]);
let running;
let released = false;

const release = once(process.stdin.resume(), 'close').then(() => {
  released = true;
  if (running?.pid !== undefined && running.exitCode === null) process.kill(-running.pid, 'SIGKILL');
});

async function run([program, ...args]) {
  running = spawn(program, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(running, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code ?? 'a signal'}`);
}

try {
  for (const command of commands) if (!released) await run(command);
  await release;
} catch (error) {
  if (!released) process.stderr.write(`${error.message}\n`);
} finally {
  for (const [program, ...args] of afterwards) spawnSync(program, args, { stdio: 'ignore' });
}
process.exit(released ? 0 : 1);
