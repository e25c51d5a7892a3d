// The part of undici that the client uses. A separate module, so that it is loaded at the first request and found by
// name in the bundle, where a dynamic import of a CommonJS package has only a default export.
export { Agent, DecoratorHandler } from "undici";
