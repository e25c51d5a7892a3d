// Messages between a parent and its child process: a common frame around messages that the using folder defines.
// Everything must survive structured cloning.
import type { Failure } from "./serialized-error.ts";

/** The messages of one kind of child. */
export interface Protocol {
  /** Sent once, first: the child's input before it can work. */
  readonly load: unknown;
  /** The child's answer when it can work. */
  readonly ready: unknown;
  /** From the parent, any time after that. */
  readonly request: unknown;
  /** From the child, any time after that. */
  readonly event: unknown;
}

export type MessageToChild<P extends Protocol> =
  /** Before the load, to a process started ahead: its probable load. */
  | { readonly kind: "hint"; readonly hint: unknown }
  | { readonly kind: "load"; readonly load: P["load"] }
  /** Sent at most once, when available: the last input that the child needs before it can work. */
  | { readonly kind: "supplement"; readonly supplement: unknown }
  | { readonly kind: "request"; readonly request: P["request"] }
  /** Complete essential work, and end. */
  | { readonly kind: "stop" };

export type MessageToParent<P extends Protocol> =
  | { readonly kind: "ready"; readonly ready: P["ready"] }
  /** The child cannot work with its load, and ends. */
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "event"; readonly event: P["event"] };
