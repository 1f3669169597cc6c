"""sass"""
