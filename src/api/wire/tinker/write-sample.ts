// Encodes a model's samples as the Tinker API's protocol buffer message SampleResponse.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ChatHeader, ChatLogprob, ChatUsage } from "../../../base/domain/chat.ts";
import { bytesField, numberField } from "../../../train/trainer/tinker/wire/protobuf.ts";
import { bytesOf } from "../../../train/trainer/tinker/wire/write-result.ts";
import type { SampleBody } from "./read-sample.ts";

/** Numbers of the constants in the protocol buffer enumeration StopReason. */
const stopReasons = { stop: 0, length: 1, tool_calls: 0 } as const;

interface Gathered {
  readonly logprobs: ChatLogprob[];
  reason: keyof typeof stopReasons | null;
}

/** Returns a collector that takes the deltas of one request. */
export function sampleAnswer(body: SampleBody, header: ChatHeader) {
  const choices = Array.from({ length: header.choiceCount }, (): Gathered => ({
    logprobs: [],
    reason: null,
  }));
  return {
    add: (deltas: readonly ChatDelta[]): void => {
      for (const { choice, logprobs, finish } of deltas) {
        choices[choice].logprobs.push(...logprobs);
        if (finish !== null) choices[choice].reason = finish.reason;
      }
    },
    end: ({ cachedTokens }: ChatUsage): Uint8Array =>
      Buffer.concat([
        ...choices.map((choice) => bytesField(1, sequenceOf(choice, body.topk_sample_logprobs ?? 0))),
        ...promptFields(header, body),
        numberField(4, cachedTokens),
      ]),
  };
}

function sequenceOf({ logprobs, reason }: Gathered, topCount: number): Uint8Array {
  assert(reason !== null, "every choice finishes");
  const tokens = Int32Array.from(logprobs, ({ tokenId }) => tokenId);
  const values = Float32Array.from(logprobs, ({ logprob }) => logprob);
  const alternatives = logprobs.map((each) => each.alternatives);
  return Buffer.concat([
    numberField(1, stopReasons[reason]),
    bytesField(2, bytesOf(tokens)),
    bytesField(3, bytesOf(values)),
    ...(topCount === 0 ? [] : [bytesField(4, topLogprobs(alternatives, topCount))]),
  ]);
}

function promptFields({ promptLogprobs }: ChatHeader, body: SampleBody): readonly Uint8Array[] {
  if (promptLogprobs === null) return [];
  const { prompt_logprobs_last_n: last, topk_prompt_logprobs: topCount = 0 } = body;
  const first = promptLogprobs.length - (last ?? promptLogprobs.length);
  // A token without a log-probability, such as the first one, gets NaN.
  const shown = promptLogprobs.map((token, at) => (at < first ? null : token));
  return [
    ...(body.prompt_logprobs === true
      ? [bytesField(2, bytesOf(Float32Array.from(shown, (token) => token?.logprob ?? NaN)))]
      : []),
    ...(topCount === 0
      ? []
      : [
          bytesField(
            3,
            topLogprobs(
              shown.map((token) => token?.alternatives ?? []),
              topCount,
            ),
          ),
        ]),
  ];
}

/** Encodes alternatives as the message TopkLogprobs. Missing ones have the token -1 and NaN. */
function topLogprobs(
  rows: readonly (readonly { readonly tokenId: number; readonly logprob: number }[])[],
  width: number,
): Uint8Array {
  const ids = new Int32Array(rows.length * width).fill(-1);
  const values = new Float32Array(rows.length * width).fill(NaN);
  for (const [row, alternatives] of rows.entries())
    for (const [column, { tokenId, logprob }] of alternatives.slice(0, width).entries()) {
      ids[row * width + column] = tokenId;
      values[row * width + column] = logprob;
    }
  return Buffer.concat([
    bytesField(1, bytesOf(ids)),
    bytesField(2, bytesOf(values)),
    numberField(3, width),
    numberField(4, rows.length),
  ]);
}
