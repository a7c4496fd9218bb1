"""Notes: a knowledge base of Markdown documents that people and agents write together.

    knowledge_base   an open knowledge base: the one thread that owns all documents, and the
                     tree of notes that a caller may see
    ownership        which process has the notes open, and how the others ask it
    home             the directory on disk: lock, owner, database format
    library          every change of a note, on the thread of the notes
    moving           notes and folders moved, with the links that follow
    history          versions of a note: listed, read, restored
    reading          texts as readers see them: views, search, the list of pending suggestions
    decided_block    what ends a reading: decisions on the reader's own suggestions
    tree             all notes with what a page shows of each
    tables           what is known of each note without loading it: suggestions and links
    administration   the methods of `flashgrep kb`, here or on the owner's socket

    document/     a note as a Yjs document       store/      the database, journal and catalogue
    markup/       CriticMarkup and literal zones suggestions/  edits that wait for a decision
    review/       suggestions listed and decided links/      links between notes
    folders/      import and export              access/     roles and tokens

Other rooms import `administration`, `history`, `home`, `knowledge_base`, `library`, `moving`,
`ownership`, `reading`, `tree` and the doors of the folders.
"""
