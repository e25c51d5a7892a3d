// The demo's tasks by name.
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { sentimentTask } from "./sentiment-task.ts";
import { stepsTask } from "./steps-task.ts";
import type { DemoTask } from "./task.ts";
import { wordTask, words, type Word } from "./word-task.ts";

/** Names of the tasks. */
export const taskNames = ["words", "sentiment", "steps"] as const;

/**
 * Returns the task with the given name.
 *
 * @param taught the word that the task `words` teaches
 * @throws ServiceError `invalid` for an unknown name or word; the message lists the valid ones
 */
export function taskOf(name: string, taught: string): DemoTask {
  if (name === "words") return wordTask(wordOf(taught));
  if (name === "sentiment") return sentimentTask;
  if (name === "steps") return stepsTask;
  throw invalid("task", name, taskNames);
}

function wordOf(text: string): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw invalid("teach", text, words);
  return word;
}

function invalid(flag: string, value: string, allowed: readonly string[]): ServiceError {
  const message = `--${flag} is ${JSON.stringify(value)}; it must be one of ${allowed.join(", ")}.`;
  return new ServiceError({ code: "invalid", message });
}
