const LENGTH_MAX = 300;

/** Why something failed, in one line: the last line of a program's stderr, or the message of the error. */
export function reasonOf(error: unknown): string {
  const { stderr = '' } = error as { readonly stderr?: string };
  const lastWords = stderr.trim().split('\n').at(-1) ?? '';
  const message = error instanceof Error ? error.message : String(error);
  const line = (lastWords === '' ? message : lastWords).trim().replace(/\s+/g, ' ');
  const reason = line.replace(/^spawn (\S+) ENOENT$/, 'there is no $1').replace(/\.$/, '');
  return reason.length > LENGTH_MAX ? `…${reason.slice(-LENGTH_MAX)}` : reason;
}
