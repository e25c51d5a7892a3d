// Messages between a parent and its child process: a common frame around messages that the module using it defines.
// Everything must survive structured cloning.
import type { Failure } from "./serialized-error.ts";

/** Types of the messages between a parent and one kind of child. */
export interface Protocol {
  /** First message to the child, sent once: the input that the child needs before it can work. */
  readonly load: unknown;
  /** The child's message when it can work. */
  readonly ready: unknown;
  /** Message from the parent, at any time after `ready`. */
  readonly request: unknown;
  /** Message from the child, at any time after `ready`. */
  readonly event: unknown;
}

export type MessageToChild<P extends Protocol> =
  /** Sent before the load, to a pre-started process: its probable load. */
  | { readonly kind: "hint"; readonly hint: unknown }
  | { readonly kind: "load"; readonly load: P["load"] }
  /** Sent at most once, when available: the last input that the child needs before it can work. */
  | { readonly kind: "supplement"; readonly supplement: unknown }
  | { readonly kind: "request"; readonly request: P["request"] }
  /** Asks the child to complete essential work, and end. */
  | { readonly kind: "stop" };

export type MessageToParent<P extends Protocol> =
  | { readonly kind: "ready"; readonly ready: P["ready"] }
  /** Sent by a child that cannot work with its load, and ends. */
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "event"; readonly event: P["event"] };
