package schema

// Vendor is who reads a schema. Servers that copy a vendor's API copy its
// rules too.
type Vendor string

// The vendors.
const (
	OpenAI    Vendor = "openai"
	Anthropic Vendor = "anthropic"
	Gemini    Vendor = "gemini"
	Ollama    Vendor = "ollama"
)

// Vendors lists the vendors whose rules are known.
func Vendors() []Vendor { return []Vendor{OpenAI, Anthropic, Gemini, Ollama} }

// rules are what a vendor accepts. The zero value accepts all of JSON Schema.
type rules struct {
	name string // for reasons, like "openai strict"

	// keep lists the keywords that are understood in addition to the structural ones
	// (type, properties, required, items, enum, description, …). Nil keeps all.
	keep []string
	// formats lists the values of format that are understood; nil is all.
	formats []string
	// numberFormats are those understood on numbers.
	numberFormats []string

	noRefs       bool // $ref is not understood: definitions are written out
	noRecursion  bool // a definition must not lead back to itself
	noTuples     bool // an array has one schema for all items
	noConst      bool
	noAllOf      bool // merged into one
	noOneOf      bool // written as anyOf
	noAdditional bool // additionalProperties is not understood
	noRequired   bool // required is understood at the root only
	onlyChoice   bool // next to anyOf only a description is allowed
	bareChoice   bool // nor that
	nullable     bool // null is written as "nullable": true
	oneType      bool // type is one word; several become alternatives
	stringEnums  bool // enum lists non-empty strings
	scalarEnums  bool // enum lists scalars
	needType     bool // every schema has a type or alternatives
	sayType      bool // a type that follows from other keywords is written
	needItems    bool // every array has items
	declared     bool // required names only declared properties
	plainNames   bool // names of properties are 1 to 64 letters, digits, dots, underscores and hyphens
	minItemsOne  bool // minItems is 0 or 1

	closed      bool // every object says additionalProperties: false
	allRequired bool // every property is required; optional ones are nullable
	firstKeys   bool // alternatives that are objects differ in their first property

	limits limits

	items *rules // within items; nil is the same rules
}

// limits are what a strict grammar of the vendor can hold. Zero is no limit.
type limits struct {
	depth      int // of nested objects and arrays
	properties int // of all objects together
	enums      int // values of all enumerations together
	text       int // bytes of all names, enumerations and constants together
	largeEnum  int // bytes of one enumeration of more than 250 values
	optional   int // properties that are not required, together
	unions     int // schemas with alternatives or several types, together
}

// vendorRules has a vendor's ordinary rules and those of its strict mode; nil
// means it has none.
type vendorRules struct{ loose, strict *rules }

var stringFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// table is what the vendors say, and what their errors say where they do not.
var table = map[Vendor]vendorRules{
	OpenAI: {
		// "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at
		// the top level"; "array schema missing items".
		loose: &rules{name: "openai", needItems: true},
		strict: &rules{
			name:    "openai strict",
			keep:    []string{"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"},
			formats: stringFormats,
			noAllOf: true, noOneOf: true, noTuples: true, onlyChoice: true, oneType: true, scalarEnums: true,
			needType: true, needItems: true, declared: true, closed: true, allRequired: true, firstKeys: true,
			limits: limits{depth: 10, properties: 5000, enums: 1000, text: 120_000, largeEnum: 15_000},
		},
	},
	Anthropic: {
		// "input_schema does not support oneOf, allOf, or anyOf at the top level".
		loose: &rules{name: "anthropic", plainNames: true},
		strict: &rules{
			name:    "anthropic strict",
			keep:    []string{"pattern", "format", "minItems", "default"},
			formats: append([]string{"uri"}, stringFormats...),
			noAllOf: true, noOneOf: true, noTuples: true, onlyChoice: true, noRecursion: true, scalarEnums: true, minItemsOne: true,
			needType: true, needItems: true, declared: true, plainNames: true, closed: true,
			limits: limits{optional: 24, unions: 16},
		},
	},
	// The Schema message of the API, a part of OpenAPI 3.0. It refuses unknown fields.
	// There is no strict mode for the arguments of functions.
	Gemini: {loose: &rules{
		name:    "gemini",
		keep:    []string{"format", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "minProperties", "maxProperties", "pattern", "default"},
		formats: []string{"date-time", "enum"}, numberFormats: []string{"float", "double", "int32", "int64"},
		noRefs: true, noTuples: true, noConst: true, noAllOf: true, noOneOf: true, noAdditional: true, onlyChoice: true, bareChoice: true,
		nullable: true, oneType: true, stringEnums: true, needType: true, needItems: true, declared: true,
	}},
	// The server decodes properties into a struct and drops unknown ones; items are
	// passed on unchanged.
	Ollama: {loose: &rules{
		name:   "ollama",
		keep:   []string{},
		noRefs: true, noTuples: true, noConst: true, noAllOf: true, noOneOf: true, noAdditional: true, noRequired: true, sayType: true,
		items: &rules{name: "ollama", noRefs: true, noRecursion: true},
	}},
}

// position is how a keyword holds schemas.
type position uint8

const (
	oneSchema  position = iota + 1
	schemaList          // or, for items of old drafts, one
	schemaMap
)

// positions lists the keywords that hold schemas.
var positions = map[string]position{
	"items": oneSchema, "additionalItems": oneSchema, "contains": oneSchema, "unevaluatedItems": oneSchema,
	"additionalProperties": oneSchema, "propertyNames": oneSchema, "unevaluatedProperties": oneSchema,
	"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema, "contentSchema": oneSchema,
	"allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList, "prefixItems": schemaList,
	"properties": schemaMap, "patternProperties": schemaMap, "$defs": schemaMap, "definitions": schemaMap,
	"dependentSchemas": schemaMap, "dependencies": schemaMap,
}

// appliesTo lists the keywords that say something about one type only: on a
// schema of other types they mean nothing and go without a word.
var appliesTo = map[string]Types{
	"properties": Object, "required": Object, "additionalProperties": Object, "patternProperties": Object,
	"propertyNames": Object, "minProperties": Object, "maxProperties": Object, "dependentRequired": Object,
	"dependentSchemas": Object, "dependencies": Object, "unevaluatedProperties": Object,
	"items": Array, "prefixItems": Array, "additionalItems": Array, "contains": Array, "minContains": Array,
	"maxContains": Array, "minItems": Array, "maxItems": Array, "uniqueItems": Array, "unevaluatedItems": Array,
	"minLength": String, "maxLength": String, "pattern": String, "contentEncoding": String, "contentMediaType": String, "contentSchema": String,
	"minimum": Number, "maximum": Number, "exclusiveMinimum": Number, "exclusiveMaximum": Number, "multipleOf": Number,
}

// silent lists keywords that say nothing about values or only name things;
// references are resolved before they go.
var silent = map[string]bool{
	"$schema": true, "$id": true, "id": true, "$anchor": true, "$dynamicAnchor": true, "$comment": true, "$vocabulary": true,
	"$defs": true, "definitions": true,
}

// phrases say in words what a keyword demands, for vendors that do not
// understand it; %s is its value.
var phrases = map[string]string{
	"minimum": "at least %s", "maximum": "at most %s", "exclusiveMinimum": "more than %s", "exclusiveMaximum": "less than %s",
	"multipleOf": "a multiple of %s",
	"minLength":  "at least %s characters", "maxLength": "at most %s characters", "pattern": "matching %s", "format": "format %s",
	"contentEncoding": "encoded as %s", "contentMediaType": "of media type %s",
	"minItems": "at least %s items", "maxItems": "at most %s items", "uniqueItems": "no item twice",
	"minProperties": "at least %s properties", "maxProperties": "at most %s properties", "propertyNames": "names must fit %s",
	"contains": "with an item that fits %s", "minContains": "at least %s such items", "maxContains": "at most %s such items",
	"default": "default %s", "const": "always %s", "enum": "one of %s", "examples": "for example %s", "example": "for example %s",
	"required": "required: %s", "prefixItems": "items in this order: %s", "patternProperties": "names and values by pattern: %s",
	"additionalProperties": "names are free, each value fits %s", "dependentRequired": "if a property is given, so are others: %s",
	"dependentSchemas": "if a property is given, this holds: %s", "dependencies": "if a property is given, so are others: %s",
	"not": "not %s", "if": "if %s", "then": "then %s", "else": "else %s", "deprecated": "deprecated",
	"unevaluatedProperties": "other properties fit %s", "unevaluatedItems": "other items fit %s",
}

// kinds lists the JSON type of a keyword's value where a vendor would stumble
// over another.
var kinds = map[string]Types{
	"properties": Object, "required": Array, "enum": Array, "anyOf": Array, "oneOf": Array, "allOf": Array, "prefixItems": Array,
	"description": String, "title": String, "format": String, "pattern": String,
	"minimum": Number, "maximum": Number, "exclusiveMinimum": Number, "exclusiveMaximum": Number, "multipleOf": Number,
	"minLength": Number, "maxLength": Number, "minItems": Number, "maxItems": Number, "minProperties": Number, "maxProperties": Number,
	"uniqueItems": Boolean, "patternProperties": Object, "dependentRequired": Object, "dependentSchemas": Object,
}
