import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../domain/generation.ts";
import { loadChatTemplate } from "../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../tokenizer/load-tokenizer.ts";
import { renderChatPrompt } from "./render-prompt.ts";
import type { ServedBase } from "./served-base.ts";
import { chatRequest } from "./testing/chat-request.ts";

const folder = "test/fixtures/goldens/models/qwen3";
const parts = { tokenizer: await loadTokenizer(folder), template: await loadChatTemplate(folder) };

/** A prompt's ids for a model that knows so many. */
function render(vocabularySize: number): readonly number[] {
  const limits = { contextLength: 128, vocabularySize, positionCountMax: 128 };
  const status = (): ReturnType<Engine["status"]> => ({
    state: { kind: "ready", limits },
    runningCount: 0,
    waitingCount: 0,
    waitingCountMax: 1,
    gauges: [],
  });
  // Of an engine, a prompt needs its limits alone.
  const engine = { status } as Engine;
  const defaults = { endTokenIds: [], temperature: null, topP: null, topK: null };
  const model = { name: "tiny", folder, contextLength: 128 };
  const base: ServedBase = { ...parts, engine, defaults, model, contextLength: 128 };
  return renderChatPrompt(chatRequest({}).prompt, base);
}

test("a prompt with a token beyond the model's vocabulary is refused, and one that just fits is not", () => {
  const ids = render(512);
  const greatest = Math.max(...ids);
  assert.deepEqual(render(greatest + 1), ids);
  assert.throws(() => render(greatest), { code: "unsupported", message: new RegExp(`id ${greatest}\\)`) });
});
