// Tests how recorded conversations become trainable tokens, with a toy tokenizer that has one id per character.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { HistoryItem, Trajectory } from "../../base/domain/trajectory.ts";
import type { ConversationTokenizer } from "./conversation-tokenizer.ts";
import { emptyTrajectory } from "./log-summary.ts";
import { trajectorySequences } from "./sequences.ts";

const encode = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));
const decode = (ids: Iterable<number>): string => String.fromCharCode(...ids);

/**
 * Renders a message as `u:hi;` and the generation prompt as `a:`; `;` ends a turn. Reasoning is written in parentheses,
 * and dropped from earlier answers.
 */
const toyTokenizer: ConversationTokenizer = {
  vocabularySize: 128,
  encode,
  idOfToken: (text) => (text.length === 1 && text.charCodeAt(0) < 128 ? text.charCodeAt(0) : null),
  renderPrompt: (messages, tools) => {
    if (messages.some((message) => message["role"] === "forbidden")) throw new Error("no such role");
    const turns = messages.map(({ role, content }) => {
      const text = (content as string).replace(/\(.*\)/, "");
      return `${(role as string)[0]}:${text};`;
    });
    return encode(`${tools === null ? "" : "t"}${turns.join("")}a:`);
  },
};

/** Returns the toy tokenizer, and records of the options that it was called with. */
function watched() {
  const tools: unknown[] = [];
  const promptArguments: unknown[] = [];
  const tokenizer: ConversationTokenizer = {
    ...toyTokenizer,
    renderPrompt: (messages, givenTools, givenArguments) => {
      tools.push(givenTools);
      promptArguments.push(givenArguments);
      return toyTokenizer.renderPrompt(messages, givenTools, givenArguments);
    },
  };
  return { tokenizer, tools, promptArguments };
}

function trajectory(items: readonly JsonObject[], more: Partial<Trajectory> = {}): Trajectory {
  return { ...emptyTrajectory, messagesAndChoices: items as readonly HistoryItem[], ...more };
}

const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });

/** Returns a choice as this server sends it, in which the k-th token has log-probability -k. */
function choice(content: string, fields: JsonObject): JsonObject {
  return {
    finish_reason: "stop",
    index: 0,
    message: { role: "assistant", content, tool_calls: [] },
    ...fields,
  };
}

function logprobsOf(tokens: readonly string[]): JsonObject {
  const content = tokens.map((token, index) => ({
    token,
    bytes: encode(token),
    logprob: -1 - index,
    top_logprobs: [],
  }));
  return { content, refusal: null };
}

const asIds = (text: string): string[] => encode(text).map((id) => `token_id:${id}`);

function exactChoice(prompt: string, answer: string): JsonObject {
  return choice(answer.replace(";", ""), {
    logprobs: logprobsOf(asIds(answer)),
    prompt_token_ids: encode(prompt),
    token_ids: encode(answer),
  });
}

/**
 * Checks each sequence as text with trained tokens in brackets, together with its old log-probabilities. Checks the
 * untrained parts in the form `<reason> at <place>`.
 */
function check(
  given: Trajectory,
  expected: readonly (readonly [string, readonly number[]])[],
  expectedUntrained: readonly string[] = [],
  options: Parameters<typeof trajectorySequences>[2] = {},
): void {
  const result = trajectorySequences(given, toyTokenizer, options);
  const shown = result.sequences.map(({ sequence }): [string, number[]] => {
    const text = Array.from(decode(sequence.tokenIds), (letter, index) =>
      sequence.mask[index] ? `[${letter}]` : letter,
    );
    sequence.oldLogprobs.forEach((value, index) =>
      assert.ok(sequence.mask[index] === 1 || Number.isNaN(value)),
    );
    return [
      text.join("").replaceAll("][", ""),
      [...sequence.oldLogprobs].filter((_, index) => sequence.mask[index]),
    ];
  });
  assert.deepEqual(shown, expected);
  const untrained = result.untrained.map(({ reason, location }) => `${reason} at ${location.join(".")}`);
  assert.deepEqual(untrained, expectedUntrained);
}

function checkRefused(given: Trajectory, pattern: RegExp, place = "messages_and_choices.0"): void {
  assert.throws(
    () => trajectorySequences(given, toyTokenizer),
    (error) =>
      error instanceof ServiceError &&
      error.code === "invalid" &&
      pattern.test(error.message) &&
      error.faults[0]?.location.join(".") === place,
  );
}

test("joins turns whose prompts begin with the sequence so far", () => {
  const items = [user("x"), exactChoice("u:x;a:", "hi;"), user("y"), exactChoice("u:x;a:hi;u:y;a:", "ok;")];
  check(trajectory(items), [["u:x;a:[hi;]u:y;a:[ok;]", [-1, -2, -3, -1, -2, -3]]]);
});

test("starts a new sequence when a prompt does not extend the previous one", () => {
  const items = [
    user("x"),
    exactChoice("u:x;a:", "(t)hi;"),
    user("y"),
    exactChoice("u:x;a:hi;u:y;a:", "ok;"),
  ];
  check(trajectory(items), [
    ["u:x;a:[(t)hi;]", [-1, -2, -3, -4, -5, -6]],
    ["u:x;a:hi;u:y;a:[ok;]", [-1, -2, -3]],
  ]);
});

test("trains an assistant message with tokens like a choice", () => {
  const { finish_reason: _, index: _index, message, ...tokens } = exactChoice("u:x;a:", "h!i;");
  const flat = { ...(message as JsonObject), ...tokens };
  const items = [user("x"), flat, user("y"), exactChoice("u:x;a:h!i;u:y;a:", "ok;")];
  check(trajectory(items), [["u:x;a:[h!i;]u:y;a:[ok;]", [-1, -2, -3, -4, -1, -2, -3]]]);
  // The tokens may be on a plain message instead of a choice, and some fields may be missing.
  check(trajectory([user("x"), flat]), [["u:x;a:[h!i;]", [-1, -2, -3, -4]]]);
  const { logprobs: _logprobs, ...withoutLogprobs } = flat as Record<string, JsonObject>;
  check(trajectory([user("x"), withoutLogprobs]), [["u:x;a:[h!i;]", [NaN, NaN, NaN, NaN]]]);
  const { prompt_token_ids: _prompt, token_ids: _ids, ...logprobsOnly } = flat as Record<string, JsonObject>;
  check(trajectory([user("x"), logprobsOnly]), [["u:x;a:[h!i;]", [-1, -2, -3, -4]]]);
  // The tokens may be on the message inside a choice.
  const nested = { finish_reason: "stop", message: flat };
  check(trajectory([user("x"), nested]), [["u:x;a:[h!i;]", [-1, -2, -3, -4]]]);
  // The tokens may be in the history of a sub-agent.
  check(
    trajectory([], {
      additionalHistories: [{ messagesAndChoices: [user("x"), flat] as HistoryItem[], tools: null }],
    }),
    [["u:x;a:[h!i;]", [-1, -2, -3, -4]]],
  );
});

test("treats a message without tokens, or of a user, as a message", () => {
  const nothing = { token_ids: null, prompt_token_ids: [], logprobs: { content: null, refusal: null } };
  check(trajectory([user("x"), { ...assistant("hi"), ...nothing }]), [["u:x;a:[hi]", [NaN, NaN]]]);
  const ofUser = { ...user("x"), token_ids: encode("x"), logprobs: logprobsOf(asIds("x")) };
  check(trajectory([ofUser, assistant("hi")]), [["u:x;a:[hi]", [NaN, NaN]]]);
});

test("renders the prompt if only log-probabilities were kept", () => {
  const first = choice("hi", { logprobs: logprobsOf(asIds("hi;")) });
  const second = choice("ok", { logprobs: logprobsOf(["o", "k", ";"]) });
  check(trajectory([user("x"), first, user("y"), second], { tools: [{ type: "function" }] }), [
    ["tu:x;a:[hi;]u:y;a:[ok;]", [-1, -2, -3, -1, -2, -3]],
  ]);
});

test("trains exact tokens without log-probabilities with those of the current policy", () => {
  const item = choice("hi", { logprobs: null, prompt_token_ids: encode("u:x;a:"), token_ids: encode("hi") });
  check(trajectory([user("x"), item]), [["u:x;a:[hi]", [NaN, NaN]]]);
});

test("uses a choice without tokens as context for others, and reports it", () => {
  const bare = choice("hi", { logprobs: null });
  check(
    trajectory([user("x"), bare, user("y"), choice("ok", { logprobs: logprobsOf(["o"]) })]),
    [["u:x;a:hi;u:y;a:[o]", [-1]]],
    ["choice_without_tokens at messages_and_choices.1"],
  );
  check(
    trajectory([user("x"), bare, assistant("not a choice")]),
    [],
    ["choice_without_tokens at messages_and_choices.1", "no_trainable_tokens at "],
  );
  const empty = choice("", { logprobs: null, token_ids: [] });
  check(
    trajectory([user("x"), empty]),
    [],
    ["choice_without_tokens at messages_and_choices.1", "no_trainable_tokens at "],
  );
});

test("trains the text of assistant messages without any choice", () => {
  const calls = { role: "assistant", content: "no", tool_calls: [{ id: "1" }] };
  check(
    trajectory([user("x"), assistant("hi"), calls, user("y"), assistant("ok")]),
    [["u:x;a:[hi];a:no;u:y;a:[ok]", [NaN, NaN, NaN, NaN]]],
    ["message_without_text at messages_and_choices.2"],
  );
  check(
    trajectory([user("x"), { role: "assistant", content: null }]),
    [],
    ["message_without_text at messages_and_choices.1", "no_trainable_tokens at "],
  );
  check(trajectory([]), [], ["no_trainable_tokens at "]);
});

test("trains assistant content in parts like its joined text", () => {
  const inParts = (...texts: readonly string[]): JsonObject => ({
    role: "assistant",
    content: texts.map((text) => ({ type: "text", text })),
  });
  const trained = (message: JsonObject): unknown =>
    trajectorySequences(trajectory([user("x"), message]), toyTokenizer);
  assert.deepEqual(trained(inParts("hi")), trained(assistant("hi")));
  assert.deepEqual(trained(inParts("hi", "you")), trained(assistant("hi\nyou")));
  const picture = { role: "assistant", content: [{ type: "image_url", image_url: { url: "x" } }] };
  check(
    trajectory([user("x"), assistant("hi"), picture]),
    [["u:x;a:[hi]", [NaN, NaN]]],
    ["message_without_text at messages_and_choices.2"],
  );
});

test("reports, and does not train, assistant messages of a history without choices if others have choices", () => {
  const history = (...items: readonly JsonObject[]) => ({ ...trajectory(items), tools: null });
  const additionalHistories = [history(user("y"), assistant("ok")), history(user("z")), history()];
  check(
    trajectory([user("x"), assistant("few"), exactChoice("u:x;a:few;a:", "a;")], { additionalHistories }),
    [["u:x;a:few;a:[a;]", [-1, -2]]],
    ["history_without_choice at additional_histories.0"],
  );
});

test("trains assistant messages and choices without tokens next to choices with tokens on request", () => {
  const bare = choice("b", { logprobs: null });
  const calls = { role: "assistant", content: "no", tool_calls: [{ id: "1" }] };
  const history = (...items: readonly JsonObject[]) => ({ ...trajectory(items), tools: null });
  const given = trajectory(
    [user("x"), assistant("few"), user("y"), exactChoice("u:x;a:few;u:y;a:", "c;"), user("z"), bare, calls],
    { additionalHistories: [history(user("y"), assistant("ok"))] },
  );
  check(
    given,
    [
      ["u:x;a:[few];u:y;a:[c;]u:z;a:[b]", [NaN, NaN, NaN, -1, -2, NaN]],
      ["u:y;a:[ok]", [NaN, NaN]],
    ],
    ["message_without_text at messages_and_choices.6"],
    { trainsTexts: true },
  );
  check(
    given,
    [["u:x;a:few;u:y;a:[c;]", [-1, -2]]],
    ["choice_without_tokens at messages_and_choices.5", "history_without_choice at additional_histories.0"],
  );
});

test("places the text of a choice after its recorded prompt", () => {
  const { tokenizer, promptArguments: seen } = watched();
  const asked = choice("a", { logprobs: null, chat_template_kwargs: { enable_thinking: false } });
  trajectorySequences(trajectory([user("x"), asked]), tokenizer, { trainsTexts: true });
  assert.deepEqual(seen, [{ templateArguments: { enable_thinking: false } }]);
});

test("excludes only the history that cannot be read", () => {
  const unreadable = choice("é", { logprobs: logprobsOf(["é"]) });
  const unrenderable = [{ role: "forbidden", content: "" }, choice("a", { logprobs: logprobsOf(["a"]) })];
  const history = (...items: readonly JsonObject[]) => ({ ...trajectory(items), tools: null });
  check(
    trajectory([user("x"), exactChoice("u:x;a:", "a;"), unreadable], {
      additionalHistories: [history(user("z"), exactChoice("u:z;a:", "b;")), history(...unrenderable)],
    }),
    [["u:z;a:[b;]", [-1, -2]]],
    [
      "unreadable_tokens at messages_and_choices.2",
      "unrenderable at additional_histories.1.messages_and_choices.1",
    ],
  );
});

test("does not train tokens that only the tokenizer knows, without calling them a contradiction", () => {
  const small = { ...toyTokenizer, vocabularySize: 122 };
  const read = (...items: readonly JsonObject[]): readonly string[] => {
    const { sequences, untrained } = trajectorySequences(trajectory(items), small);
    assert.deepEqual(sequences, []);
    return untrained.map(({ reason, location }) => `${reason} at ${location.join(".")}`);
  };
  assert.deepEqual(read(user("{"), assistant("a")), ["unrenderable at messages_and_choices.1"]);
  assert.deepEqual(read(user("a"), assistant("{")), ["unreadable_tokens at messages_and_choices.1"]);
});

test("trains additional histories", () => {
  const { messagesAndChoices } = trajectory([user("z"), exactChoice("u:z;a:", "b;")]);
  check(
    trajectory([user("x"), exactChoice("u:x;a:", "a;")], {
      additionalHistories: [{ messagesAndChoices, tools: null }],
    }),
    [
      ["u:x;a:[a;]", [-1, -2]],
      ["u:z;a:[b;]", [-1, -2]],
    ],
  );
});

test("treats a log-probability that makes a sampled token impossible as unknown", () => {
  const [first, ...others] = asIds("a;");
  const content = [first, ...others].map((token, index) => ({ token, logprob: index === 0 ? -9999 : -2 }));
  const answer = choice("a", { logprobs: { content, refusal: null }, prompt_token_ids: encode("u:x;a:") });
  check(trajectory([user("x"), answer]), [["u:x;a:[a;]", [NaN, -2]]]);
});

test("trains refusals like answers, but not the first token of a sequence", () => {
  const refusal = choice("", {
    logprobs: { content: null, refusal: [{ token: "token_id:110", logprob: -0.5 }] },
  });
  check(trajectory([user("x"), refusal]), [["u:x;a:[n]", [-0.5]]]);
  const bare = choice("ab", {
    logprobs: logprobsOf(["a", "b"]),
    prompt_token_ids: [],
    token_ids: encode("ab"),
  });
  check(trajectory([bare]), [["a[b]", [-2]]]);
  const one = choice("a", { logprobs: null, prompt_token_ids: [], token_ids: encode("a") });
  check(
    trajectory([exactChoice("u:x;a:", "a;")], {
      additionalHistories: [{ ...trajectory([one]), tools: null }],
    }),
    [["u:x;a:[a;]", [-1, -2]]],
    ["no_trainable_tokens at additional_histories.0"],
  );
});

test("renders bare functions as tools, and an empty list as none", () => {
  const { tokenizer, tools: seen } = watched();
  const bare = { name: "f", description: "does", parameters: {} };
  const whole = { type: "function", function: bare };
  for (const tools of [[bare], [whole], [], null])
    trajectorySequences(trajectory([user("x"), assistant("a")], { tools }), tokenizer);
  assert.deepEqual(seen, [[whole], [whole], null, null]);
});

test("renders a prompt with its record's options, a choice's before the trajectory's", () => {
  const { tokenizer, promptArguments: seen } = watched();
  const named = (fields: JsonObject): JsonObject => choice("a", { logprobs: logprobsOf(["a"]), ...fields });
  const extra = { chat_template_kwargs: { enable_thinking: false }, documents: null };
  const goesOn = { continue_final_message: true, chat_template_kwargs: { other: 1 } };
  trajectorySequences(
    trajectory([named({}), named(goesOn), named({ add_generation_prompt: false })], { extra }),
    tokenizer,
  );
  trajectorySequences(trajectory([named({ documents: [{ text: "d" }] })]), tokenizer);
  const effort = { reasoning_effort: "none", add_special_tokens: true };
  const hidden = { chat_template_kwargs: { reasoning_effort: "high", other: 2 } };
  trajectorySequences(trajectory([named({ ...effort, ...hidden })]), tokenizer);
  const templateArguments = { enable_thinking: false };
  assert.deepEqual(seen, [
    { templateArguments },
    { templateArguments: { other: 1 }, continueFinalMessage: true, addGenerationPrompt: false },
    { templateArguments, addGenerationPrompt: false },
    { documents: [{ text: "d" }] },
    { templateArguments: { other: 2 }, reasoningEffort: "none", addSpecialTokens: true },
  ]);
});

test("excludes a history whose prompt cannot be rendered again, unless it has tokens", () => {
  const all: readonly JsonObject[] = [{ chat_template: "x" }, { truncate_prompt_tokens: 5 }];
  for (const asked of all) {
    const [name] = Object.keys(asked);
    const rendered = choice("a", { logprobs: logprobsOf(["a"]), ...asked });
    const { sequences, untrained } = trajectorySequences(trajectory([user("x"), rendered]), toyTokenizer);
    assert.deepEqual(sequences, []);
    assert.equal(untrained[0]?.reason, "unrenderable");
    assert.match(
      untrained[0].detail,
      new RegExp(`its ${name} is not applied in training; send .* prompt_token_ids`),
    );
    const exact = { prompt_token_ids: [1], token_ids: [5], logprobs: null, ...asked };
    assert.equal(trajectorySequences(trajectory([choice("a", exact)]), toyTokenizer).sequences.length, 1);
  }
});

test("refuses records that contradict themselves or belong to another model", () => {
  const exact = { prompt_token_ids: [1], token_ids: [5, 6] };
  const refused = (fields: JsonObject, pattern: RegExp): void =>
    checkRefused(trajectory([choice("", { ...exact, ...fields })]), pattern);
  refused({ logprobs: logprobsOf(["token_id:5"]) }, /1 log-probabilities for 2 token_ids/);
  refused({ logprobs: logprobsOf(["token_id:5", "token_id:7"]) }, /name token 7 where token_ids say 6/);
  refused({ logprobs: null, token_ids: [5, 128] }, /token id 128.*end at 127/);
  refused({ logprobs: null, prompt_token_ids: [-1] }, /token id -1/);
  refused({ logprobs: null, token_ids: [0.5] }, /token_ids is not a list of integers/);
  refused({ logprobs: { content: "text" } }, /not a list of objects/);
  const withLogprob = (logprob: number): JsonObject => ({
    token_ids: [5],
    logprobs: { content: [{ token: "token_id:5", logprob }] },
  });
  refused(withLogprob(3), /3 is not a log-probability/);
  refused(withLogprob(-1e308), /-1e\+308 is not a log-probability/);
  checkRefused(
    trajectory([user("x")], {
      additionalHistories: [
        { ...trajectory([user("x"), choice("", { ...exact, token_ids: [500] })]), tools: null },
      ],
    }),
    /token id 500/,
    "additional_histories.0.messages_and_choices.1",
  );
});
