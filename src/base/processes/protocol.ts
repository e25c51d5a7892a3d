// Messages between a parent and its child process. This module defines a frame that all of them have; the modules that
// use it define the content. Messages must survive structured cloning.
import type { Failure } from "./serialized-error.ts";

/** Types of the messages between a parent and children of one kind. */
export interface Protocol {
  /** First message to the child, sent once. It is the input that the child needs before it can work. */
  readonly load: unknown;
  /** Message of the child when it becomes ready to work. */
  readonly ready: unknown;
  /** Message from the parent, sent at any time after `ready`. */
  readonly request: unknown;
  /** Message from the child, sent at any time after `ready`. */
  readonly event: unknown;
}

export type MessageToChild<P extends Protocol> =
  /** Sent to a pre-started process before its load: data about the load that it will probably get. */
  | { readonly kind: "hint"; readonly hint: unknown }
  | { readonly kind: "load"; readonly load: P["load"] }
  /** Last input that the child needs before it can work. Sent at most once, as soon as it is available. */
  | { readonly kind: "supplement"; readonly supplement: unknown }
  | { readonly kind: "request"; readonly request: P["request"] }
  /** Asks the child to finish essential work and end. */
  | { readonly kind: "stop" };

export type MessageToParent<P extends Protocol> =
  | { readonly kind: "ready"; readonly ready: P["ready"] }
  /** Sent by a child that cannot work with its load. The child then ends. */
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "event"; readonly event: P["event"] };
