import { readFileSync } from 'node:fs';

/** The unit of times in `/proc` on Linux. */
const TICKS_PER_SECOND = 100;

/** The wall time of this process; on Linux also the CPU time of the process and its children that have ended. */
export function timesOfThisProcess(): string {
  let stat: string | undefined;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    // Not Linux.
  }
  return timesLine(process.uptime(), stat);
}

/** Formats the times. @param stat the content of `/proc/self/stat`, see proc_pid_stat(5) */
function timesLine(wallSeconds: number, stat: string | undefined): string {
  const wall = `The run took ${wallSeconds.toFixed(0)} s`;
  if (stat === undefined) return `${wall}.\n`;
  // After the name: utime and stime of the process, then cutime and cstime of its children that have ended.
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  const cpuSeconds = ticks.reduce((sum, each) => sum + each) / TICKS_PER_SECOND;
  return `${wall}, and ${cpuSeconds.toFixed(0)} s of CPU time.\n`;
}
