import { readFileSync } from 'node:fs';

/** The unit of times in `/proc`, on every Linux. */
const TICKS_PER_SECOND = 100;

/** How long this process has run; on Linux also how much CPU time it and those used that it has started and that have ended. */
export function timesOfThisProcess(): string {
  let stat: string | undefined;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    // Not Linux.
  }
  return timesLine(process.uptime(), stat);
}

/** The line. @param stat what Linux says about the process, see proc_pid_stat(5) */
function timesLine(wallSeconds: number, stat: string | undefined): string {
  const wall = `The run took ${wallSeconds.toFixed(0)} s`;
  if (stat === undefined) return `${wall}.\n`;
  // Its own times in user mode and in the kernel, and those of its children that have ended, behind the name.
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  const cpuSeconds = ticks.reduce((sum, each) => sum + each) / TICKS_PER_SECOND;
  return `${wall}, and ${cpuSeconds.toFixed(0)} s of CPU time.\n`;
}
