/** The part of the package that pino-pretty's types use; the compiler does not find the package's own types. */
declare module 'colorette' {
  export type Color = (text: string | number) => string;
  export type Colorette = Readonly<Record<string, Color>>;
  export const isColorSupported: boolean;
}
