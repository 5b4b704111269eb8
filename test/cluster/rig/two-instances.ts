import { freePort } from '../../support/free-port.js';
import { type Balancer, type Instance, startHaproxy } from '../../faults/rig/haproxy.js';
import { type ServiceProcess, startProcess } from '../../faults/rig/service-process.js';

/** Two instances of the service, and the load balancer in front of them. */
export interface TwoInstances {
  readonly first: ServiceProcess;
  readonly second: ServiceProcess;
  readonly balancer: Balancer;
}

/** Starts both instances with these settings, and the load balancer. They stop with the test. */
export async function startTwoInstances(settings: Readonly<Record<string, string>>): Promise<TwoInstances> {
  const ports: Instance[] = [];
  for (let i = 0; i < 2; i++) ports.push({ grpcPort: await freePort(), httpPort: await freePort() });
  const start = (index: number): Promise<ServiceProcess> =>
    startProcess({
      ...settings,
      GRPC_ADDRESS: `127.0.0.1:${ports[index]?.grpcPort ?? 0}`,
      HTTP_ADDRESS: `127.0.0.1:${ports[index]?.httpPort ?? 0}`,
    });
  const [first, second] = await Promise.all([start(0), start(1)]);
  return { first, second, balancer: await startHaproxy(ports) };
}
