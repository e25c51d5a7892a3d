// Tests reading recorded answers of vLLM 0.32.0, and malformed answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { logprobMin } from "../../../base/domain/generation.ts";
import { readChunk, readCompletion } from "./read-completion.ts";

const recorded = {
  first: `{"id":"cmpl-b1063b13365e6767","object":"text_completion","created":1795707196,"model":"tiny","choices":[{"index":0,"text":"fo","logprobs":{"text_offset":[0],"token_logprobs":[-2.873029947280884],"tokens":["token_id:317"],"top_logprobs":[{"token_id:317":-2.873029947280884,"token_id:53":-2.256492853164673,"token_id:372":-2.6650121212005615}]},"finish_reason":null,"stop_reason":null,"prompt_token_ids":[5,6,7,8],"token_ids":[317]}]}`,
  last: `{"id":"cmpl-b1063b13365e6767","object":"text_completion","created":1795707196,"model":"tiny","choices":[{"index":1,"text":"\\ufffd m","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":[266]}],"system_fingerprint":"vllm-0.32.0-aa93bcfa"}`,
  usage: `{"id":"cmpl-b1063b13365e6767","object":"text_completion","created":1795707196,"model":"tiny","choices":[],"usage":{"prompt_tokens":4,"total_tokens":10,"completion_tokens":6}}`,
  failure: `{"error": {"message": "Internal server error", "type": "InternalServerError", "param": null, "code": 500}}`,
  prompt: `{"id":"cmpl-92a6ebe71c0bb215","object":"text_completion","created":1795707200,"model":"tiny","choices":[{"index":0,"text":"fo","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[317],"prompt_logprobs":[null,{"6":{"logprob":-7.881512641906738,"rank":316,"decoded_token":"</tool_call>"},"272":{"logprob":-2.8164713382720947,"rank":1,"decoded_token":" \\""}},{"7":{"logprob":-8.208468437194824,"rank":348,"decoded_token":"!"},"137":{"logprob":-3.0742712020874023,"rank":1,"decoded_token":""}}],"prompt_token_ids":[5,6,7],"routed_experts":null}],"service_tier":null,"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1,"prompt_tokens_details":null},"kv_transfer_params":null}`,
} as const;

const chunkOf = (text: string) => readChunk(JSON.parse(text));
const tokenOf = (text: string) => {
  const chunk = chunkOf(text);
  return chunk?.kind === "choice" ? chunk.tokens[0] : undefined;
};

test("reads the tokens of a choice with their log-probabilities, alternatives by their rank", () => {
  assert.deepEqual(chunkOf(recorded.first), {
    kind: "choice",
    answerId: "cmpl-b1063b13365e6767",
    choice: 0,
    tokens: [
      {
        id: 317,
        logprob: -2.873029947280884,
        alternatives: [
          { id: 53, logprob: -2.256492853164673 },
          { id: 372, logprob: -2.6650121212005615 },
          { id: 317, logprob: -2.873029947280884 },
        ],
      },
    ],
    finish: null,
  });
  assert.deepEqual(chunkOf(recorded.last), {
    kind: "choice",
    answerId: "cmpl-b1063b13365e6767",
    choice: 1,
    tokens: [{ id: 266, logprob: NaN, alternatives: [] }],
    finish: "length",
  });
  const usage = { kind: "usage", answerId: "cmpl-b1063b13365e6767" };
  assert.deepEqual(chunkOf(recorded.usage), { ...usage, cachedTokenCount: null });
  // The form in which vLLM 0.32 (protocol.py) reports cached tokens with --enable-prompt-tokens-details.
  const details = `"prompt_tokens_details":{"cached_tokens":3,"created_cache_tokens":null}`;
  const told = recorded.usage.replace(`"completion_tokens":6`, `"completion_tokens":6,${details}`);
  assert.deepEqual(chunkOf(told), { ...usage, cachedTokenCount: 3 });
});

test("reads the log-probabilities of a prompt", () => {
  const { promptTokenIds, promptLogprobs } = readCompletion(JSON.parse(recorded.prompt));
  assert.deepEqual(promptTokenIds, [5, 6, 7]);
  assert.deepEqual(promptLogprobs, [
    null,
    {
      id: 6,
      logprob: -7.881512641906738,
      rank: 316,
      alternatives: [
        { id: 272, logprob: -2.8164713382720947, rank: 1 },
        { id: 6, logprob: -7.881512641906738, rank: 316 },
      ],
    },
    {
      id: 7,
      logprob: -8.208468437194824,
      rank: 348,
      alternatives: [
        { id: 137, logprob: -3.0742712020874023, rank: 1 },
        { id: 7, logprob: -8.208468437194824, rank: 348 },
      ],
    },
  ]);
});

test("throws an error within a stream and refuses a malformed answer", () => {
  assert.throws(() => chunkOf(recorded.failure), { code: "unavailable", message: /failed; try again/ });
  const first = JSON.parse(recorded.first) as { readonly choices: readonly object[] };
  const changed = (more: object): unknown => ({ ...first, choices: [{ ...first.choices[0], ...more }] });
  for (const strange of [
    null,
    [],
    {},
    { choices: {} },
    changed({ index: "0" }),
    changed({ token_ids: [null] }),
    changed({ token_ids: [1, 2] }),
    changed({ token_ids: [1.5] }),
    changed({ token_ids: [-1] }),
    { ...first, choices: [first.choices[0], first.choices[0]] },
    changed({ logprobs: { token_logprobs: [-1], top_logprobs: [{ yes: -1 }] } }),
  ])
    assert.throws(() => readChunk(strange), { code: "unavailable", message: /sent an invalid answer/ });
  // Texts of log-probabilities that no model computes.
  for (const logprob of ["NaN", "1e999", "-1e999", "0.5", '"-1"', "{}"]) {
    const text = recorded.first.replace("[-2.873029947280884]", `[${logprob}]`);
    if (logprob === "NaN") assert.throws(() => chunkOf(text), SyntaxError);
    else if (logprob === "-1e999") assert.equal(tokenOf(text)?.logprob, logprobMin);
    else assert.throws(() => chunkOf(text), { code: "unavailable" }, logprob);
  }
  // Rounding may make a log-probability slightly greater than 0, which counts as 0.
  assert.equal(tokenOf(recorded.first.replace("[-2.873029947280884]", "[0.0000001]"))?.logprob, 0);
  for (const count of ["-1", "1.5", '"3"', "1e999"]) {
    const details = `"prompt_tokens_details":{"cached_tokens":${count}}`;
    const text = recorded.usage.replace(`"completion_tokens":6`, `"completion_tokens":6,${details}`);
    assert.throws(() => chunkOf(text), { code: "unavailable" }, count);
  }
  assert.throws(() => readCompletion({ choices: [{ prompt_logprobs: null }] }), { code: "unavailable" });
  for (const [was, is] of [
    [`"prompt_token_ids":[5,6,7]`, `"prompt_token_ids":[5,6]`],
    [`"rank":1,`, `"rank":-1,`],
    [`"272":`, `"x":`],
    [`"logprob":-2.8164713382720947`, `"logprob":3`],
  ] as const)
    assert.throws(
      () => readCompletion(JSON.parse(recorded.prompt.replace(was, is))),
      { code: "unavailable" },
      is,
    );
});
