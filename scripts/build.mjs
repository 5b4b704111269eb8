// Builds as `tsc --build` does, and says on stderr what it builds: nothing if all is up to date.
import { dirname, relative } from 'node:path';

const { default: ts } = await import('typescript').catch(() => {
  process.stderr.write('To build the service, install what it is built with, too: npm ci --include=dev\n');
  process.exit(1);
});

const PROJECTS = ['tsconfig.build.json', 'packages/client/tsconfig.build.json'];

const format = {
  getCurrentDirectory: ts.sys.getCurrentDirectory,
  getCanonicalFileName: (name) => name,
  getNewLine: () => ts.sys.newLine,
};
const report = (diagnostic) => {
  process.stderr.write(ts.formatDiagnosticsWithColorAndContext([diagnostic], format));
};

const builder = ts.createSolutionBuilder(
  ts.createSolutionBuilderHost(ts.sys, undefined, report),
  PROJECTS,
  {},
);
for (let next = builder.getNextInvalidatedProject(); next; next = builder.getNextInvalidatedProject()) {
  const folder = relative('.', dirname(next.project)) || 'the service';
  if (next.kind === ts.InvalidatedProjectKind.Build) process.stderr.write(`Building ${folder} …\n`);
  // Called for each project, also after one has failed: it is what takes the project from the list.
  const status = next.done();
  process.exitCode ||= status;
}
