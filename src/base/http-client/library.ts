// The part of undici that the client uses. It is a separate module, so that it is loaded only at the first request, and
// its exports have names in the bundle. There, a dynamic import of a CommonJS package has only a default export.
export { Agent, DecoratorHandler } from "undici";
