// Package schema infers, checks and adapts JSON Schemas, and validates values with
// them.
//
// A schema has two states with a type each. As data it is JSON text, a [Schema];
// [Compile] turns it into a [Compiled], which is the proof that it is usable: it
// parses, its references resolve, its patterns can be run.
//
//   - [For] infers a schema from a Go type.
//   - [Compiled.Validate] returns one [Fault] per fault, each with a JSON pointer, the
//     expected type, the shape of the received value, and a sentence a model can act on.
//   - [Compiled.Coerce] gives values the type the schema demands where nothing is lost,
//     and records each change.
//   - [Narrow] rewrites a schema into the subset a vendor accepts and reports each loss
//     with its place and reason.
//   - [ShapeOf] returns, cheaply, which types a schema allows where, for text that
//     carries no types.
//
// The package never fetches anything. Sizes, depths and numbers are bounded.
package schema
