import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const MIB = 1024 * 1024;
/** State of a listening socket in /proc/net/tcp. */
const LISTEN = '0A';

/** The unit of CPU time in /proc, in milliseconds: USER_HZ is 100 wherever Node runs. */
const TICK_MS = 10;

/** CPU time that a process has used so far, user and system, in milliseconds. @throws Error when it has ended */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The command name may contain spaces and parentheses; the fields after its closing one are fixed (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Current resident memory of a process, in MiB. */
export function rssMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return (Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / MIB;
}

/** The ids of a process's running children. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** The id of the process that listens on a local TCP port; undefined when there is none that this user may inspect. */
export function listenerOf(port: number): number | undefined {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((file) => readFileSync(file, 'latin1').split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === LISTEN && local?.endsWith(`:${hexPort}`) === true)
    .map((fields) => `socket:[${fields[9] ?? ''}]`);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).find((pid) => openFiles(pid).some((file) => sockets.includes(file)));
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    // Another user's process, or one that has just ended.
    return [];
  }
}
