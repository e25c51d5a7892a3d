// Completes a word of a command line from the definitions of commands, flags and arguments. Pure, except that it calls
// a given function to look up values.
import type { Argument, Command, Option } from "commander";

/** A possible completion with its description, for shells that show descriptions. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}

/** Kind of values that an argument or a flag accepts. */
export type ValueSource =
  | "models"
  | "trained"
  | "versions"
  | "jobs"
  | "added"
  | "webhooks"
  | "rules"
  | "files"
  | "folders";

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** Paths that the shell itself should complete; null for none. */
  readonly paths: "files" | "folders" | null;
}

export interface CompletionOptions {
  /**
   * Returns where the values of a command's argument or flag come from; null if that is unknown.
   *
   * @param what name of the argument, or the flag as written
   */
  readonly sourceOf: (words: string, what: string) => ValueSource | null;
  /** Returns the fixed values that a flag accepts; undefined if it has none. */
  readonly choicesOf: (option: Option) => readonly string[] | undefined;
  /** Looks up the current values of a source, such as the names of all models. */
  readonly find: (source: Exclude<ValueSource, "files" | "folders">) => Promise<readonly Candidate[]>;
}

/** Parsing state after all words except the last. */
interface Place {
  readonly command: Command;
  readonly words: readonly string[];
  /** Flag whose value is the next word; null if none is expected. */
  readonly pending: Option | null;
  /** Number of positional arguments among all words except the last. */
  readonly count: number;
  readonly isPastFlags: boolean;
}

/**
 * Returns the completions of the last word.
 *
 * @param words words after the program's name; the last one may be empty
 */
export async function completeWords(
  program: Command,
  words: readonly string[],
  options: CompletionOptions,
): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const place = words.slice(0, -1).reduce(stepInto, start(program));
  const all = await everythingAt(place, current, options);
  return { ...all, candidates: all.candidates.filter(({ value }) => value.startsWith(current)) };
}

const start = (command: Command): Place => ({
  command,
  words: [],
  pending: null,
  count: 0,
  isPastFlags: false,
});

function stepInto(place: Place, word: string): Place {
  const { command, words, pending, count, isPastFlags } = place;
  if (pending !== null) return { ...place, pending: null };
  if (word === "--" && !isPastFlags) return { ...place, isPastFlags: true };
  if (word.startsWith("-") && !isPastFlags) {
    const option = flagOf(command, word);
    return {
      ...place,
      pending: option !== null && takesValue(option) && !word.includes("=") ? option : null,
    };
  }
  const next = count === 0 ? command.commands.find((one) => one.name() === word) : undefined;
  return next === undefined ? { ...place, count: count + 1 } : { ...start(next), words: [...words, word] };
}

async function everythingAt(place: Place, current: string, options: CompletionOptions): Promise<Completion> {
  const { command, pending, count, isPastFlags } = place;
  const words = place.words.join(" ");
  if (pending !== null) return valuesOf(pending, words, options);
  if (current.startsWith("-") && !isPastFlags) {
    const [flag, value] = current.split("=", 2);
    const option = value === undefined ? null : flagOf(command, flag);
    if (option === null) return { candidates: flagsOf(command), paths: null };
    const { candidates } = await valuesOf(option, words, options);
    return {
      candidates: candidates.map(({ value: one, about }) => ({ value: `${flag}=${one}`, about })),
      paths: null,
    };
  }
  const argument = command.registeredArguments[count] ?? lastOfMany(command);
  const subcommands = count === 0 ? visible(command) : [];
  const values = argument === null ? nothing : await valuesOfArgument(argument, words, options);
  return { ...values, candidates: [...subcommands, ...values.candidates] };
}

const nothing: Completion = { candidates: [], paths: null };

function lastOfMany({ registeredArguments }: Command): Argument | null {
  const last = registeredArguments.at(-1);
  return last?.variadic === true ? last : null;
}

async function valuesOfArgument(
  argument: Argument,
  words: string,
  options: CompletionOptions,
): Promise<Completion> {
  if (argument.argChoices !== undefined) return listed(argument.argChoices);
  return valuesFrom(options.sourceOf(words, argument.name()), options);
}

async function valuesOf(option: Option, words: string, options: CompletionOptions): Promise<Completion> {
  const choices = option.argChoices ?? options.choicesOf(option);
  if (choices !== undefined) return listed(choices);
  return valuesFrom(options.sourceOf(words, option.long ?? option.flags), options);
}

function listed(values: readonly string[]): Completion {
  return { candidates: values.map((value) => ({ value, about: "" })), paths: null };
}

async function valuesFrom(source: ValueSource | null, { find }: CompletionOptions): Promise<Completion> {
  if (source === null) return nothing;
  if (source === "files" || source === "folders") return { candidates: [], paths: source };
  return { candidates: await find(source), paths: null };
}

function flagOf(command: Command, word: string): Option | null {
  const [flag] = word.split("=", 1);
  return command.options.find(({ long, short }) => long === flag || short === flag) ?? null;
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** Returns all flags. Includes those that the short help hides, because a user who types a prefix may look for them. */
function flagsOf(command: Command): readonly Candidate[] {
  const own = command.options
    .filter(({ description }) => description !== "")
    .map(({ long, flags, description }) => ({ value: long ?? flags, about: description }));
  return [...own, { value: "--help", about: "show help" }];
}

function visible(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ value: one.name(), about: one.description() }));
}
