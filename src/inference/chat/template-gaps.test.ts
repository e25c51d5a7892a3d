import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import { createChatTemplate } from "../chat-templates/chat-template.ts";
import { loadChatTemplate } from "../chat-templates/load-chat-template.ts";
import { findTemplateGaps } from "./template-gaps.ts";

function check(source: string | null, expected: readonly string[]): void {
  const options = { source, toolUseSource: null, specialTokens: {}, clock: systemClock };
  const unshown = findTemplateGaps(createChatTemplate(options));
  assert.deepEqual(
    unshown.map(({ what }) => what),
    expected,
    source ?? "none",
  );
  for (const { what, isRefused } of unshown) assert.equal(isRefused, what.startsWith("it cannot"));
}

const loop = "{% for m in messages %}{{ m.content }}{% endfor %}";

test("reports what a template cannot render or silently omits, and why", () => {
  check(`${loop}{{ tools }}`, []);
  check(loop, ["it does not show tools"]);
  check("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}", [
    "it does not show a system message",
    "it does not show tools",
  ]);
  check(
    `{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}${loop}` +
      "{% for t in tools or [] %}{{ t.function.missing.deeper }}{% endfor %}",
    [
      'it cannot render a system message (The chat template refuses these messages: "System role not supported")',
      "it cannot render tools (The chat template cannot render these messages: line 1: 'dict object' has no attribute 'missing')",
    ],
  );
  check("{{ raise_exception('no') }}", [
    `it cannot render a user's message (The chat template refuses these messages: "no")`,
  ]);
  check(null, [
    "it cannot render a user's message (This model has no chat template of its own; send one as `prompt.template`.)",
  ]);
});

test("finds no gaps in the built-in model's template", async () => {
  assert.deepEqual(findTemplateGaps(await loadChatTemplate("models/hone-tiny")), []);
});
