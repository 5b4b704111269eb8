import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  cyclesAmong,
  type Import,
  importsOf,
  isOurs,
  packageOf,
  shown,
  sourceFiles,
} from './source-imports.js';

/** How the files of a package may depend on each other and on other packages. */
interface Layering {
  /** The absolute path of its sources. */
  readonly src: string;
  /** The files and folders directly in `src`, from the top down: each may import those of its own layer and below. */
  readonly layers: readonly (readonly string[])[];
  /** The packages that every file may import. Node's own modules are always allowed. */
  readonly packages: readonly string[];
  /** Further packages that a single file may import, by its path in `src`. Default: none. */
  readonly packagesOfOne?: Readonly<Record<string, readonly string[]>>;
}

/** Defines the tests that enforce the layers of a package. */
export function testLayers({ src, layers, packages, packagesOfOne = {} }: Layering): void {
  const files = sourceFiles(src);
  const imports = files.flatMap(importsOf);

  const layerOf = (file: string): number => {
    const [first = ''] = relative(src, file).split('/');
    return layers.findIndex((layer) => layer.includes(first));
  };

  describe('the files of the package', () => {
    it('each belong to a layer', () => {
      expect(files.filter((file) => layerOf(file) === -1)).toEqual([]);
    });

    it('import nothing from a layer above their own', () => {
      const wrong = imports.filter((edge) => isOurs(edge) && layerOf(edge.to) < layerOf(edge.from));
      expect(wrong.map((edge) => shown(edge, src))).toEqual([]);
    });

    it('have no import cycles', () => {
      expect(cyclesAmong(imports, src)).toEqual([]);
    });

    it('import no packages but the allowed ones', () => {
      const isAllowed = (edge: Import): boolean =>
        [undefined, ...packages, ...(packagesOfOne[relative(src, edge.from)] ?? [])].includes(
          packageOf(edge),
        );
      const wrong = imports.filter(
        (edge) => !isAllowed(edge) || (isOurs(edge) && !edge.to.startsWith(`${src}/`)),
      );
      expect(wrong.map((edge) => shown(edge, src))).toEqual([]);
    });
  });
}
