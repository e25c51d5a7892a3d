// Tests that a conversation gives the same prompt in serving and in training. Request bodies are parsed as over HTTP.
// The prompt for the engine must equal that of the training sequence.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { writePrompt } from "../src/inference/chat/prompts/write-prompt.ts";
import { systemClock } from "../src/base/domain/clock.ts";
import type { JsonObject } from "../src/base/domain/text/json.ts";
import type { TrajectoryGroup } from "../src/base/domain/trajectory.ts";
import { bodyLimits } from "../src/api/http/settings.ts";
import { linesIn } from "../src/api/wire/packed-lines.ts";
import { httpSettings } from "../src/api/http/settings.ts";
import { readChatRequest } from "../src/api/wire/chat/read-chat-request.ts";
import { readTrainingJob } from "../src/api/wire/training-job.ts";
import { createChatTemplate, type ChatTemplate } from "../src/inference/chat-templates/chat-template.ts";
import { loadChatTemplate } from "../src/inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";
import { createConversationTokenizer } from "../src/train/trainer/conversation-tokenizer.ts";
import { trajectorySequences } from "../src/train/trajectories/sequences.ts";

const root = "test/fixtures/goldens/models";
const tokenizer = await loadTokenizer(`${root}/qwen3`);
const vocabularySize = 512;

/** Templates with features that the golden templates do not use: parts, tool calls, whole messages and thinking. */
const sources: Readonly<Record<string, string>> = {
  "loops over parts":
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}[{{ p.type }}:{{ p.text }}]{% endfor %}{% endfor %}",
  "shows calls and names":
    "{% for m in messages %}<{{ m.role }} {{ m.name }} {{ m.tool_call_id }}>{{ m.content }}" +
    "{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}",
  // The comment mentions `content`, because the server refuses to continue a message if the template does not mention
  // it.
  "shows whole messages": "{# content and all #}{% for m in messages %}{{ m | tojson }}{% endfor %}",
  "shows all other variables":
    "{{ messages | length }}{{ documents | tojson }}{{ [reasoning_effort | d, enable_thinking | d, mine | d] | tojson }}" +
    "{{ messages[-1].content or 'none' }}|{% if add_generation_prompt %}go{% endif %}",
  "thinks unless told not to":
    "{{ messages | length }}{{ messages[-1].content }}{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}" +
    "{% if preserve_thinking is defined %}{{ preserve_thinking }}{% endif %}{% if add_generation_prompt %}go{% endif %}",
};

const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"x": 1}' } };
const conversations: Readonly<Record<string, readonly JsonObject[]>> = {
  text: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ],
  parts: [
    {
      role: "user",
      content: [
        "a",
        { type: "text", text: "b" },
        { type: "input_text", text: "c" },
        { type: "refusal", refusal: "d" },
      ],
    },
    { role: "assistant", content: [] },
  ],
  "tool calls": [
    { role: "user", content: "Hi", name: null },
    { role: "assistant", content: null, tool_calls: [call], refusal: null, reasoning_content: "hm" },
    { role: "tool", content: "42", tool_call_id: "c1", name: "f", tool_calls: [] },
  ],
  "null and absent content": [
    { role: "user", content: null },
    { role: "assistant" },
    { role: "user", name: "Ann", content: "" },
  ],
};
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];

function servedPrompt(body: JsonObject, template: ChatTemplate): readonly number[] {
  const { request } = readChatRequest(body, httpSettings.with());
  const fit = { purpose: "answer", contextLength: 100_000, keepLast: null } as const;
  const rest = { badWords: [], wantsTexts: false, modelName: "m", vocabularySize };
  const task = { prompt: request.prompt, fit, ...rest };
  return writePrompt(tokenizer, template, task).tokenIds;
}

/**
 * Returns the prompt before the answer of a conversation. The conversation was recorded without prompt ids, so the
 * prompt is rendered from the other fields of its request.
 */
function trainedPrompt(
  { messages, tools: given, ...asked }: JsonObject,
  template: ChatTemplate,
): readonly number[] {
  const answer = { role: "assistant", content: "x" };
  const choice = { finish_reason: "stop", message: answer, token_ids: [40], logprobs: null, ...asked };
  const job = {
    model_id: "00000000-0000-4000-8000-000000000000",
    trajectory_groups: [
      {
        trajectories: [
          {
            messages_and_choices: [...(messages as readonly JsonObject[]), choice],
            tools: given ?? null,
          },
        ],
      },
    ],
  };
  const limits = bodyLimits(httpSettings.with());
  const [line] = linesIn(readTrainingJob(Buffer.from(JSON.stringify(job)), limits, null).lines);
  const [trajectory] = (JSON.parse(line) as TrajectoryGroup).trajectories;
  const read = trajectorySequences(
    trajectory,
    createConversationTokenizer(tokenizer, template, vocabularySize),
  );
  assert.deepEqual(read.untrained, []);
  const [{ tokenIds }] = read.sequences.map(({ sequence }) => sequence);
  assert.equal(tokenIds.at(-1), 40);
  return Array.from(tokenIds).slice(0, -1);
}

/** Prompt fields of requests. */
const asked: readonly JsonObject[] = [
  { tools: null },
  { tools },
  { documents: [{ title: "t", text: "d" }], chat_template_kwargs: { mine: 1, documents: null } },
  {
    reasoning_effort: "none",
    chat_template_kwargs: { reasoning_effort: "high", add_generation_prompt: false },
  },
  { reasoning_effort: "low", chat_template_kwargs: { enable_thinking: false }, add_special_tokens: true },
  { add_generation_prompt: false },
];

function check(template: ChatTemplate): void {
  for (const [kind, messages] of Object.entries(conversations)) {
    for (const rest of asked) {
      const body = { messages, ...rest };
      assert.deepEqual(trainedPrompt(body, template), servedPrompt(body, template), kind);
    }
  }
  const last = { role: "assistant", content: "I think" };
  const continued = { messages: [...conversations["text"], last], continue_final_message: true };
  assert.deepEqual(trainedPrompt(continued, template), servedPrompt(continued, template));
}

for (const name of readdirSync(root)) {
  test(`serving and training render the same prompt with the template of ${name}`, async () => {
    check(await loadChatTemplate(`${root}/${name}`));
    check(await loadChatTemplate(`${root}/${name}`, { toolsAsText: true }));
  });
}

test("serving and training render the same prompt with the built-in model's template", async () => {
  for (const name of readdirSync("models")) check(await loadChatTemplate(`models/${name}`));
});

for (const [name, source] of Object.entries(sources)) {
  test(`serving and training render the same prompt with a template that ${name}`, () =>
    check(createChatTemplate({ source, toolUseSource: null, specialTokens: {}, clock: systemClock })));
}
