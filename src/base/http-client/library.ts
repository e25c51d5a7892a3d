// The part of undici that the client uses. It is a separate module so that it can be loaded at the first request. In
// the bundle, a dynamic import of undici itself (a CommonJS package) would have only a default export.
export { Agent, DecoratorHandler } from "undici";
