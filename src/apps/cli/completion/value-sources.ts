// Defines where the values of arguments and flags come from, by command and by name of the argument or flag. Arguments
// and flags that are not listed here get no completions.
import type { ValueSource } from "./complete-words.ts";

const everywhere: Readonly<Record<string, ValueSource>> = { "--data": "folders", "--blobs": "folders" };

export const valueSources: Readonly<Record<string, Readonly<Record<string, ValueSource>>>> = {
  serve: { "--model": "files", "--default-model": "added" },
  doctor: { "--model": "files", "--default-model": "added" },
  chat: { words: "versions", "--model": "models" },
  "models create": { "--base-model": "models", "--from": "trained" },
  "models delete": { name: "trained" },
  "models add": { model: "files" },
  "models remove": { name: "added" },
  "models check": { model: "files" },
  "models fit": { model: "files" },
  "models versions": { name: "trained" },
  "models accept-base": { name: "trained" },
  "models pin": { "name:stepN": "versions" },
  "models unpin": { "name:stepN": "versions" },
  "models export": { name: "trained", "--out": "folders" },
  "models import": { folder: "folders", "--base-model": "models" },
  "models trajectories": { name: "trained", "--out": "files", "--job": "jobs" },
  "completions list": { "--model": "versions" },
  "feedback export": { "--out": "files" },
  "traces dataset": { "--out": "files" },
  "jobs show": { id: "jobs" },
  "jobs sft": { model: "trained", file: "files" },
  "jobs preference": { model: "trained", file: "files", "--terms": "files" },
  "jobs watch": { id: "jobs" },
  "jobs cancel": { id: "jobs" },
  "jobs retry": { id: "jobs" },
  "jobs replay": { id: "jobs" },
  start: { "--model": "models" },
  "rollout run": { "--model": "trained", "--reward-file": "files" },
  "rollout list": { model: "trained" },
  "learning on": { model: "trained", "--judge": "models", "--terms": "files" },
  "learning off": { model: "trained" },
  "learning show": { model: "trained" },
  "learning list": { model: "trained" },
  "rules add": { "--train": "trained", "--terms": "files" },
  "rules preview": { model: "trained", "--terms": "files" },
  "rules train": { model: "trained", "--terms": "files" },
  "queues add": { "--model": "versions" },
  "webhooks enable": { id: "webhooks" },
  "webhooks deliveries": { id: "webhooks" },
  "webhooks replay": { id: "webhooks" },
  "webhooks delete": { id: "webhooks" },
  "schemas check": { files: "files", "--instance": "files", "--tokenizer": "files" },
  backup: { place: "folders" },
  restore: { place: "folders" },
  verify: { place: "folders" },
  export: { place: "folders" },
  import: { place: "folders" },
  init: { folder: "folders" },
  demo: { "--model": "added" },
};

export function sourceOf(words: string, what: string): ValueSource | null {
  return valueSources[words]?.[what] ?? everywhere[what] ?? null;
}
