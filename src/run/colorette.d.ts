/** The part of the package that pino-pretty's types refer to; compilers do not find its own types. */
declare module 'colorette' {
  export type Color = (text: string | number) => string;
  export type Colorette = Readonly<Record<string, Color>>;
  export const isColorSupported: boolean;
}
