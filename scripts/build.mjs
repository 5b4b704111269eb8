// Builds as `tsc --build` does, and says on stderr what it builds: nothing if all is up to date.
import { dirname, relative } from 'node:path';
import ts from 'typescript';

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
  process.exitCode ||= next.done();
}
