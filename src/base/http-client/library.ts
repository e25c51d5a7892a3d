// The part of undici that the client uses. A separate module can be loaded at the first request, and exports names. In
// the bundle, a dynamic import of undici itself, a CommonJS package, would have only a default export.
export { Agent, DecoratorHandler } from "undici";
