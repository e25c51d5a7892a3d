// Tools that ask models: a chat, and a verdict on several answers.
import * as z from "zod";
import type { ChatCompletionRequest } from "../../../client/api.ts";
import { judgeTexts } from "../../../client/judging/judge.ts";
import { toServerModelName } from "../../names/named-version.ts";
import { given } from "../fields.ts";
import { tool } from "../tool.ts";
import { collectAnswers } from "./collect-answers.ts";

const textMax = 200_000;

const chat = tool({
  name: "chat",
  title: "Chat with a model",
  description:
    "Answers a conversation with a base model, a trained model or one version of it. Answers of trained models are recorded: add_feedback takes their request_id.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    messages: z
      .array(
        z.strictObject({
          role: z.enum(["system", "user", "assistant"]),
          content: z.string().max(textMax),
        }),
      )
      .min(1)
      .max(256)
      .describe("Conversation, oldest message first; the last is usually the user's."),
    model: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe(
        "Base model, trained model `project/name`, or version `project/name@3`. Default: the server's.",
      ),
    max_tokens: z.int().min(1).max(32_768).default(1024).describe("Maximum length of an answer in tokens."),
    n: z.int().min(1).max(8).default(1).describe("Number of answers."),
    temperature: z.number().min(0).max(10).optional().describe("0 is greedy. Default: the model's."),
    seed: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .optional()
      .describe("Seed for reproducible answers."),
  }),
  output: z.object({
    model: z.string(),
    request_id: z.string(),
    answers: z.array(
      z.object({
        text: z.string(),
        reasoning: z.string().nullable().describe("The model's thoughts; null if there are none."),
        finish_reason: z.string().describe("`stop`, or `length` if the answer was cut off at max_tokens."),
      }),
    ),
    usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }),
  }),
  run: async ({ messages, model, max_tokens: tokensMax, n, temperature, seed }, context) => {
    const body: ChatCompletionRequest = {
      messages,
      n,
      max_completion_tokens: tokensMax,
      ...given({ temperature, seed, model: model === undefined ? undefined : toServerModelName(model) }),
    };
    return collectAnswers(body, context);
  },
});

const judgeAnswers = tool({
  name: "judge_answers",
  title: "Compare answers",
  description:
    "Has a model compare two or more answers to one task by a rubric. Returns a score from 0 to 1 for each answer. The answers are shown to the model in an order that depends on the seed.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    task: z.string().min(1).max(textMax).describe("Task or question that the answers are about."),
    answers: z.array(z.string().max(textMax)).min(2).max(16).describe("Answers to compare."),
    rubric: z.string().min(1).max(20_000).describe("Criteria for a good answer."),
    model: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe("Model that judges. Default: the server's default model."),
    mode: z
      .enum(["rank", "score"])
      .default("rank")
      .describe("`rank` orders the answers: the best gets 1, the worst 0. `score` rates each by itself."),
    seed: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .default(1)
      .describe("Seed for the order in which the model sees the answers."),
  }),
  output: z.object({
    model: z.string(),
    scores: z.array(z.number()).describe("Score of each answer, in the order of the input."),
    best: z.number().describe("Index of the answer with the highest score, from 0."),
  }),
  run: async ({ task, answers, rubric, model: wanted, mode, seed }, { hone, signal }) => {
    const model = wanted === undefined ? (await hone.served.bases({ signal }))[0] : toServerModelName(wanted);
    const scores = await judgeTexts(
      { model, rubric, mode },
      { task, texts: answers },
      { hone, seed, signal },
    );
    return { model, scores: [...scores], best: scores.indexOf(Math.max(...scores)) };
  },
});

export const chatTools = [chat, judgeAnswers];
