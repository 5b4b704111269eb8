/** The part of the package that the types of pino-pretty name; compilers do not find its own. */
declare module 'colorette' {
  export type Color = (text: string | number) => string;
  export type Colorette = Readonly<Record<string, Color>>;
  export const isColorSupported: boolean;
}
