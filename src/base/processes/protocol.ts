// What a parent and its child process say to each other: a frame that is the same for every kind of child, around
// messages that the folder which uses it defines. Everything must survive structured cloning.
import type { Failure } from "./carried-error.ts";

/** The messages of one kind of child. */
export interface Protocol {
  /** Sent once, first: what the child needs before it can work. */
  readonly load: unknown;
  /** The child's answer when it can work. */
  readonly ready: unknown;
  /** From the parent, any time after that. */
  readonly request: unknown;
  /** From the child, any time after that. */
  readonly event: unknown;
}

export type MessageToChild<P extends Protocol> =
  /** Before the load, to a process that is started ahead: what it will probably be. */
  | { readonly kind: "hint"; readonly hint: unknown }
  | { readonly kind: "load"; readonly load: P["load"] }
  /** Sent once at most, when it is there: what the child needs last before it can work. */
  | { readonly kind: "supplement"; readonly supplement: unknown }
  | { readonly kind: "request"; readonly request: P["request"] }
  /** Finish what must be finished, and end. */
  | { readonly kind: "stop" };

export type MessageToParent<P extends Protocol> =
  | { readonly kind: "ready"; readonly ready: P["ready"] }
  /** It cannot work with what it was given; it ends. */
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "event"; readonly event: P["event"] };
