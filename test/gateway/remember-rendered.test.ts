import { describe, expect, it } from 'vitest';
import { rememberRendered, type Render } from '../../src/gateway/remember-rendered.js';

/** Renders a message as its text, and tells what it rendered. */
function counting(): { rendered: string[]; render: Render } {
  const rendered: string[] = [];
  const render: Render = (message) => {
    const body = Buffer.from(message).toString();
    rendered.push(body);
    return body;
  };
  return { rendered, render };
}

describe('answers that never change', () => {
  it.each(['', 'plain', 'café', '路由 📚'])('are rendered once, also "%s"', (text) => {
    const { rendered, render } = counting();
    const remembering = rememberRendered(render, 10_000);
    expect(remembering(Buffer.from(text))).toBe(text);
    expect(remembering(Buffer.from(text))).toBe(text);
    expect(rendered).toEqual([text]);
  });

  it('are forgotten, the oldest first, when the bytes are used up', () => {
    const { rendered, render } = counting();
    const remembering = rememberRendered(render, 2_048);
    const texts = Array.from({ length: 100 }, (_, i) => `text ${i}`);
    for (const text of [...texts, 'text 99', 'text 0']) remembering(Buffer.from(text));
    expect(rendered).toEqual([...texts, 'text 0']);
  });
});
