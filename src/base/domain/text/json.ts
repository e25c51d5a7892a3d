// JSON as a value, of numbers that are doubles; exact-json has those that keep their digits.
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };
