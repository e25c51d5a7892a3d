// A conversation of the agent over HTTP, and its reward. The agent calls tools until it answers or has no turns left.
import type { Message } from "../../src/apps/client/api.ts";
import type { RecordedTrajectory } from "../../src/apps/client/recording/recorded-trajectory.ts";
import { answerCall, parsedArguments, tools, type Market } from "./market.ts";
import type { Question } from "./questions.ts";

export interface Episode {
  readonly question: Question;
  readonly messages: readonly Message[];
  /** Results of the agent's tool calls, in order. */
  readonly results: readonly string[];
  /** The agent's final answer; null if it gave none. */
  readonly answer: string | null;
}

/** Number of calls that an agent may make in addition to those of the plan. */
const spareCalls = 2;

/**
 * Runs a conversation to its end.
 *
 * @throws HoneError if the server refuses a request
 */
export async function runEpisode(
  { chat }: Pick<RecordedTrajectory, "chat">,
  market: Market,
  question: Question,
): Promise<Episode> {
  const messages: Message[] = [{ role: "user", content: question.text }];
  const results: string[] = [];
  for (let turn = 0; turn <= question.plan.length + spareCalls; turn++) {
    const { choices } = await chat({
      messages,
      tools,
      tool_choice: "auto",
      parallel_tool_calls: false,
      max_tokens: 80,
    });
    const [choice] = choices;
    if (choice === undefined) throw new Error("the server answered without a choice");
    messages.push(choice.message);
    const [call] = choice.message.tool_calls;
    if (call?.function === undefined) return { question, messages, results, answer: choice.message.content };
    // Malformed arguments cannot be sent back to the server, so the conversation ends here.
    if (parsedArguments(call.function.arguments) === null) break;
    const result = answerCall(market, call.function);
    results.push(result);
    messages.push({ role: "tool", tool_call_id: call.id, content: result });
  }
  return { question, messages, results, answer: null };
}

/**
 * Returns the reward, from 0 to 1: up to 0.5 for facts found in the plan's order, and 0.5 for the right answer. Each
 * call in addition to the plan's costs 0.05.
 */
export function rewardOf({ question, results, answer }: Episode): number {
  const { plan } = question;
  const found = countInOrder(
    plan.map(({ result }) => String(result)),
    results,
  );
  const isRight = answer === question.answer;
  const wasted = Math.max(0, results.length - plan.length);
  return Math.max(0, 0.5 * (found / plan.length) + (isRight ? 0.5 : 0) - 0.05 * wasted);
}

export function isRight({ question, answer }: Episode): boolean {
  return answer === question.answer;
}

/** Returns how many of the wanted texts a list contains in order. Other texts may be between them. */
function countInOrder(wanted: readonly string[], given: readonly string[]): number {
  let found = 0;
  for (const text of given) if (text === wanted[found]) found += 1;
  return found;
}
