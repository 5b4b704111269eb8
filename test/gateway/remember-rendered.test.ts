import { describe, expect, it } from 'vitest';
import { entityTag } from '../../src/gateway/entity-tag.js';
import { rememberRendered, type Render } from '../../src/gateway/remember-rendered.js';

/** Renders a message as its text, and tells what it rendered. */
function counting(): { rendered: string[]; render: Render } {
  const rendered: string[] = [];
  const render: Render = (message) => {
    const body = Buffer.from(message).toString();
    rendered.push(body);
    return { body, tag: entityTag(body) };
  };
  return { rendered, render };
}

describe('answers that never change', () => {
  it.each(['', 'plain', 'café', '路由 📚'])('are rendered once, also "%s"', (text) => {
    const { rendered, render } = counting();
    const remembering = rememberRendered(render, 10_000);
    const expected = { body: text, tag: entityTag(text) };
    expect(remembering(Buffer.from(text))).toEqual(expected);
    expect(remembering(Buffer.from(text))).toEqual(expected);
    expect(rendered).toEqual([text]);
  });

  it('are forgotten, those that were asked for least lately, when the bytes are used up', () => {
    const { rendered, render } = counting();
    const remembering = rememberRendered(render, 700);
    for (const text of ['a', 'b', 'c', 'd', 'd', 'a']) remembering(Buffer.from(text));
    expect(rendered).toEqual(['a', 'b', 'c', 'd', 'a']);
  });

  it('count two bytes for a character where one is not enough', () => {
    const { rendered, render } = counting();
    const remembering = rememberRendered(render, 1_000);
    const [narrow, wide] = ['a'.repeat(300), '路'.repeat(300)];
    for (const text of [narrow, wide, narrow]) remembering(Buffer.from(text));
    expect(rendered).toEqual([narrow, wide, narrow]);
  });
});
