"""The languages symbols are read from: by file name, a grammar and a query for definitions.

The queries follow the convention of tree-sitter's tags (`@name`, `@definition.kind`). We wrote our
own: two of the wheels ship none, C's knows neither macros nor constants, and one set of kinds for
all languages is worth more than each one's own.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import tree_sitter


@dataclass(frozen=True)
class Language:
    """A grammar, and what it calls a definition."""

    module: str
    query: str
    function: str = "language"


_C: Final = """
(function_definition declarator: (function_declarator
  declarator: (identifier) @name)) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (identifier) @name))) @definition.function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (identifier) @name)))) @definition.function
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.union
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(type_definition declarator: (type_identifier) @name) @definition.type
(type_definition declarator: (pointer_declarator
  declarator: (type_identifier) @name)) @definition.type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (type_identifier) @name)))) @definition.type
(type_definition declarator: (array_declarator
  declarator: (type_identifier) @name)) @definition.type
(preproc_function_def name: (identifier) @name) @definition.macro
(preproc_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator
  declarator: (identifier) @name)) @definition.variable)
(translation_unit (declaration declarator: (init_declarator declarator: (array_declarator
  declarator: (identifier) @name))) @definition.variable)
(translation_unit (declaration declarator: (init_declarator declarator: (pointer_declarator
  declarator: (identifier) @name))) @definition.variable)
"""
_CPP: Final = (
    _C
    + """
(function_definition declarator: (reference_declarator (function_declarator
  declarator: (identifier) @name))) @definition.function
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier name: (identifier) @name))) @definition.method
(function_definition declarator: (function_declarator
  declarator: (field_identifier) @name)) @definition.method
(function_definition declarator: (function_declarator declarator: (qualified_identifier
  name: (qualified_identifier name: (identifier) @name)))) @definition.method
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(namespace_definition name: (namespace_identifier) @name) @definition.namespace
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.type
"""
)
_PYTHON: Final = """
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment
  left: (identifier) @name) @definition.variable))
(class_definition body: (block (expression_statement (assignment
  left: (identifier) @name) @definition.variable)))
"""
_GO: Final = """
(function_declaration name: (identifier) @name) @definition.function
(method_declaration name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name) @definition.method
(const_spec name: (identifier) @name) @definition.constant
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list
  (var_spec name: (identifier) @name) @definition.variable)))
"""
_RUST: Final = """
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.constant
(union_item name: (type_identifier) @name) @definition.union
(trait_item name: (type_identifier) @name) @definition.interface
(type_item name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
"""
_JAVASCRIPT: Final = """
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name) @definition.variable)))
(pair key: (property_identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @definition.function
"""
_TYPESCRIPT: Final = (
    _JAVASCRIPT
    + """
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.constant)
(enum_assignment name: (property_identifier) @name) @definition.constant
(internal_module name: (identifier) @name) @definition.namespace
(function_signature name: (identifier) @name) @definition.function
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: (property_identifier) @name) @definition.variable
"""
)
_JAVA: Final = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_constant name: (identifier) @name) @definition.constant
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.variable
"""
_C_SHARP: Final = """
(class_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.struct
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(enum_member_declaration name: (identifier) @name) @definition.constant
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(constructor_declaration name: (identifier) @name) @definition.method
(property_declaration name: (identifier) @name) @definition.variable
(field_declaration (variable_declaration
  (variable_declarator name: (identifier) @name))) @definition.variable
(namespace_declaration name: (_) @name) @definition.namespace
"""
_RUBY: Final = """
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(class name: (constant) @name) @definition.class
(class name: (scope_resolution name: (constant) @name)) @definition.class
(module name: (constant) @name) @definition.module
(module name: (scope_resolution name: (constant) @name)) @definition.module
(assignment left: (constant) @name) @definition.constant
(alias name: (identifier) @name) @definition.method
"""
_PHP: Final = """
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.interface
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.constant
(const_element (name) @name) @definition.constant
(namespace_definition name: (namespace_name) @name) @definition.namespace
"""
_BASH: Final = """
(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command
  (variable_assignment name: (variable_name) @name) @definition.variable))
"""

_JS_CLASSES: Final = "(class_declaration name: (identifier) @name) @definition.class\n"

C: Final = Language("tree_sitter_c", _C)
CPP: Final = Language("tree_sitter_cpp", _CPP)
PYTHON: Final = Language("tree_sitter_python", _PYTHON)
GO: Final = Language("tree_sitter_go", _GO)
RUST: Final = Language("tree_sitter_rust", _RUST)
JAVASCRIPT: Final = Language("tree_sitter_javascript", _JAVASCRIPT + _JS_CLASSES)
TYPESCRIPT: Final = Language("tree_sitter_typescript", _TYPESCRIPT, "language_typescript")
TSX: Final = Language("tree_sitter_typescript", _TYPESCRIPT, "language_tsx")
JAVA: Final = Language("tree_sitter_java", _JAVA)
C_SHARP: Final = Language("tree_sitter_c_sharp", _C_SHARP)
RUBY: Final = Language("tree_sitter_ruby", _RUBY)
PHP: Final = Language("tree_sitter_php", _PHP, "language_php")
BASH: Final = Language("tree_sitter_bash", _BASH)

_EXTENSIONS: Final[dict[str, Language]] = {
    extension: language
    for language, extensions in (
        (C, "c h"),
        (CPP, "cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp cu cuh ino"),
        (PYTHON, "py pyi pyw"),
        (GO, "go"),
        (RUST, "rs"),
        (JAVASCRIPT, "js mjs cjs jsx"),
        (TYPESCRIPT, "ts mts cts"),
        (TSX, "tsx"),
        (JAVA, "java"),
        (C_SHARP, "cs"),
        (RUBY, "rb rake gemspec"),
        (PHP, "php phtml"),
        (BASH, "sh bash zsh ksh"),
    )
    for extension in extensions.split()
}
_CPP_ONLY: Final = (b"\nclass ", b"\nnamespace ", b"\ntemplate", b"public:", b"std::")


_PROSE: Final = re.compile(
    r"(?:^|/)[^./]*$|\.(?:adoc|asciidoc|csv|diff|html?|json|log|markdown|mdx?|org|patch|po|pod|pot"
    r"|rst|svg|tex|txt|xml|ya?ml)$",
    re.IGNORECASE,
)


def is_prose(path: str) -> bool:
    """Whether a file holds text in which nothing is defined, whatever its lines look like."""
    return _PROSE.search(path) is not None


def language_of(path: str, text: bytes) -> Language | None:
    """The language of a file by its name; headers that are plainly C++ are C++."""
    extension = path.rpartition(".")[2].lower()
    if extension == "h" and any(sign in text for sign in _CPP_ONLY):
        return CPP
    if "." not in path.rpartition("/")[2] and text.startswith(b"#!"):
        first = text.split(b"\n", 1)[0]
        return BASH if b"sh" in first else PYTHON if b"python" in first else None
    return _EXTENSIONS.get(extension)


@lru_cache(maxsize=32)
def grammar(language: Language) -> tuple[tree_sitter.Parser, tree_sitter.Query]:
    """A parser and the compiled query; loaded when first asked for."""
    import tree_sitter

    module = importlib.import_module(language.module)
    loaded = tree_sitter.Language(getattr(module, language.function)())
    return tree_sitter.Parser(loaded), tree_sitter.Query(loaded, language.query)
