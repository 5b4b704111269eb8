import { readFileSync } from 'node:fs';

/** The unit of times in `/proc` on Linux (USER_HZ). */
const TICKS_PER_SECOND = 100;

/** A line with the wall time of this process; on Linux also with the CPU time of it and its children that have ended. */
export function timesOfThisProcess(): string {
  const wall = `The run took ${process.uptime().toFixed(0)} s`;
  let stat: string;
  try {
    stat = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return `${wall}.\n`;
  }
  // After the name: utime and stime of the process, then cutime and cstime of its children (proc_pid_stat(5)).
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number);
  const cpuSeconds = ticks.reduce((sum, time) => sum + time) / TICKS_PER_SECOND;
  return `${wall}, and ${cpuSeconds.toFixed(0)} s of CPU time.\n`;
}
